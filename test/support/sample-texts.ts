/**
 * Texts of many kinds, for tests and measurements of token counts. The weights of the estimate were chosen with the
 * first ones. The others were kept out of that, and show that the weights are not made for a few texts.
 */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

export interface Sample {
  readonly kind: string;
  readonly text: string;
}

const LONGEST = 20_000;

function fileAt(path: string, from = 0): string {
  return readFileSync(new URL(`../../${path}`, import.meta.url), "utf8").slice(from, from + LONGEST);
}

function bytes(seed: string, count: number): Buffer {
  const parts = Array.from({ length: Math.ceil(count / 32) }, (_, index) =>
    createHash("sha256").update(`${seed} ${index}`).digest(),
  );
  return Buffer.concat(parts).subarray(0, count);
}

function uuids(seed: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) =>
    bytes(`${seed} ${index}`, 16)
      .toString("hex")
      .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5"),
  );
}

const numberAt = (seed: string, index: number): number => bytes(`${seed} ${index}`, 4).readUInt32BE();

const record = (index: number) => ({
  id: numberAt("order", index),
  customer: { name: ["Ada Lovelace", "Alan Turing", "Grace Hopper"][index % 3], vip: index % 4 === 0 },
  items: [{ sku: `SKU-${1000 + index}`, quantity: (index % 5) + 1, price: Number(`${index + 3}.49`) }],
  createdAt: new Date(1_760_000_000_000 + index * 7_777_777).toISOString(),
  status: index % 2 === 0 ? "shipped" : "pending",
  note: null,
});

const logLine = (index: number): string => {
  const time = new Date(1_763_000_000_000 + index * 1_234).toISOString();
  const [address = 0] = bytes(`ip ${index}`, 1);
  return [
    `${time} INFO  [worker-${index % 8}] GET /api/v1/orders/${numberAt("log", index) % 100_000} 200 ${index * 3}ms`,
    `${time} WARN  [pool] connection 10.0.${address}.${index % 255} timed out after 30000 ms, retrying (attempt ${index % 3})`,
    `${time} ERROR [worker-${index % 8}] TypeError: Cannot read properties of undefined (reading 'items')`,
    `    at handleOrder (/srv/app/dist/orders/handler.js:${index + 40}:17)`,
  ][index % 4] as string;
};

const lines = (count: number, line: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => line(index)).join("\n");

const ENGLISH = `The lighthouse keeper had lived on the island for thirty years, and in all that time he had never once missed a lighting. Every evening, an hour before sunset, he climbed the hundred and twelve steps with a can of oil in one hand and a cloth in the other. He polished the lenses until he could see his own tired face in them, trimmed the wick, and waited. Ships passed far out, small as toys, and he liked to imagine where they were going: to warm harbours full of fruit, to cities with electric lights, to places where nobody had heard of storms. Sometimes a captain would raise a flag, and he would raise his own in return.

One winter the supply boat did not come. For three weeks he ate dried fish and potatoes and counted the remaining cans. He wrote in the log, as the regulations required, that visibility was poor and the wind came from the northwest; he did not write that he was afraid. When the boat finally arrived, its young pilot apologised for the delay and handed him a letter. The service had decided to automate the light. He would be given a pension, a small house on the mainland, and the gratitude of the department.`;

const ENGLISH_2 = `Customers who bought this kettle generally praise how quickly it boils and how quiet it is compared with older models. Several reviewers mention that the handle stays cool and that the lid opens far enough for easy cleaning. The most common complaint concerns the water gauge, which is hard to read in dim kitchens. About a dozen people reported that the base stopped working within the first year; in most of those cases the manufacturer replaced the product without charge. If you live in an area with hard water, you should descale it every month, since the warranty does not cover damage caused by limescale. Overall we think it offers excellent value, although the colour of the plastic parts may not match what you saw in the pictures.`;

const CHINESE = `去年秋天，我和几位朋友一起去了云南旅行。我们先坐飞机到昆明，然后乘火车前往大理。大理的天气非常好，白天阳光灿烂，晚上却有些凉。古城里有很多小店，卖的是手工制作的银饰、扎染布料和当地的茶叶。我们住在洱海边的一家客栈，老板很热情，每天早上都会给我们准备新鲜的豆浆和米线。第三天我们租了自行车，沿着湖边骑了整整一个下午。路上遇到一位老人，他告诉我们这里二十年前还没有公路，村民们只能坐船去镇上买东西。现在交通方便了，年轻人却都去了大城市工作。听完他的故事，我们都沉默了很久。`;

const CHINESE_2 = `根据公司第三季度的财务报告，营业收入同比增长百分之十二，净利润达到四亿五千万元。管理层表示，增长主要来自海外市场的扩张以及新产品线的推出。与此同时，原材料价格上涨和汇率波动对毛利率造成了一定压力。董事会决定在下一财年继续增加研发投入，重点发展人工智能和自动化仓储系统。分析师认为，如果需求保持稳定，该公司有望在明年上半年实现两位数的增长，但也提醒投资者注意政策风险和竞争加剧的影响。`;

const THAI = `กรุงเทพมหานครเป็นเมืองหลวงและนครที่มีประชากรมากที่สุดของประเทศไทย เป็นศูนย์กลางการปกครอง การศึกษา การคมนาคมขนส่ง การเงินการธนาคาร การพาณิชย์ การสื่อสาร และความเจริญของประเทศ ตั้งอยู่บนสามเหลี่ยมปากแม่น้ำเจ้าพระยา มีแม่น้ำเจ้าพระยาไหลผ่านและแบ่งเมืองออกเป็นสองฝั่ง นักท่องเที่ยวจำนวนมากเดินทางมาเยี่ยมชมวัดและตลาดน้ำทุกปี อาหารริมทางของที่นี่มีชื่อเสียงไปทั่วโลก โดยเฉพาะผัดไทยและต้มยำกุ้ง`;

const THAI_2 = `ขออภัย ระบบไม่สามารถดำเนินการตามคำสั่งของท่านได้ในขณะนี้ กรุณาตรวจสอบหมายเลขคำสั่งซื้อและลองใหม่อีกครั้งในภายหลัง หากปัญหายังคงอยู่ โปรดติดต่อฝ่ายบริการลูกค้าของเราได้ทุกวันตั้งแต่เวลาเก้าโมงเช้าถึงหกโมงเย็น พนักงานของเรายินดีให้ความช่วยเหลือและตอบทุกคำถามเกี่ยวกับการจัดส่งและการคืนสินค้า`;

const GERMAN = `Die Bundesregierung hat am Mittwoch einen Gesetzentwurf zur Beschleunigung von Genehmigungsverfahren beschlossen. Künftig sollen Bauanträge für Windkraftanlagen innerhalb von sechs Monaten entschieden werden. Umweltverbände kritisierten, dass die Beteiligung der Öffentlichkeit dadurch eingeschränkt werde, während Wirtschaftsvertreter den Schritt als längst überfällig bezeichneten. Die Ministerin erklärte, man müsse bei der Energiewende schneller vorankommen, ohne dabei den Naturschutz zu vernachlässigen. Über den Entwurf wird nun zunächst im Bundestag beraten; mit einer Verabschiedung rechnen Beobachter frühestens im kommenden Frühjahr.`;

const FRENCH = `Depuis plusieurs années, le village attire des visiteurs venus de toute l'Europe pour découvrir ses ruelles pavées et son marché aux fleurs. Les habitants, d'abord méfiants, ont fini par ouvrir des chambres d'hôtes et de petits restaurants où l'on sert une cuisine simple, préparée avec les légumes du jardin. L'été dernier, la mairie a décidé de limiter la circulation des voitures dans le centre, ce qui a suscité de vives discussions. Certains commerçants craignaient de perdre leur clientèle ; finalement, la fréquentation a augmenté.`;

const RUSSIAN = `Вчера вечером мы долго обсуждали, куда поехать летом. Сестра хотела на море, потому что устала от холодной зимы, а брат предлагал горы: он недавно купил новый рюкзак и мечтал его испытать. Родители слушали молча, а потом отец сказал, что в этом году лучше остаться дома и наконец отремонтировать крышу. Все засмеялись, но он говорил совершенно серьёзно. Через неделю мы уже выбирали черепицу в строительном магазине, и, как ни странно, никто об этом не пожалел.`;

const ARABIC = `تعد القهوة من أكثر المشروبات انتشارا في العالم العربي، ولها مكانة خاصة في الضيافة والمناسبات الاجتماعية. يستقبل الناس ضيوفهم بفنجان من القهوة والتمر، ويتبادلون الحديث حول أخبار العائلة والعمل. وقد تغيرت طرق تحضيرها مع مرور الزمن، فظهرت المقاهي الحديثة التي تقدم أنواعا مختلفة من القهوة المثلجة والمحلاة. ومع ذلك لا يزال كثير من الناس يفضلون الطريقة التقليدية التي تعلموها من آبائهم وأجدادهم.`;

const JAPANESE = `先週の土曜日、友達と一緒に京都へ行きました。朝早く新幹線に乗って、十時ごろ京都駅に着きました。まず清水寺を見学してから、近くの喫茶店で抹茶とお菓子を楽しみました。午後は嵐山まで電車で移動し、竹林の中をゆっくり散歩しました。観光客がとても多かったので、写真を撮るのに少し苦労しましたが、紅葉がちょうど見ごろで本当にきれいでした。夕方になるとだんだん寒くなってきたので、温かいうどんを食べてから東京に帰りました。`;

const KOREAN = `지난 주말에 가족과 함께 제주도로 여행을 다녀왔습니다. 첫째 날에는 비가 와서 박물관과 카페를 둘러보았고, 둘째 날에는 날씨가 맑아져서 한라산에 올랐습니다. 정상까지 올라가는 길은 생각보다 힘들었지만, 위에서 내려다본 풍경은 정말 아름다웠습니다. 저녁에는 바닷가 근처 식당에서 해산물을 먹고 시장에서 귤을 한 상자 샀습니다. 아이들은 돌아오는 비행기 안에서 벌써 다음 여행을 이야기하기 시작했습니다.`;

const HINDI = `भारत एक विशाल देश है जहाँ अनेक भाषाएँ बोली जाती हैं और हर राज्य की अपनी अलग संस्कृति है। यहाँ के लोग त्योहारों को बड़े उत्साह के साथ मनाते हैं। दिवाली के समय पूरे शहर में दीपक जलाए जाते हैं और परिवार के सभी सदस्य मिलकर मिठाइयाँ बनाते हैं। गाँवों में आज भी खेती मुख्य काम है, लेकिन अब बहुत से युवा पढ़ाई और नौकरी के लिए शहरों की ओर जा रहे हैं।`;

const POLISH = `W zeszłym tygodniu nasza drużyna skończyła pracę nad nową wersją aplikacji. Użytkownicy mogą teraz szybciej wyszukiwać zamówienia, zapisywać ulubione produkty i otrzymywać powiadomienia o zmianach cen. Największym wyzwaniem okazało się przeniesienie starych danych, ponieważ część z nich była niekompletna. Mimo to udało się zakończyć wszystko przed terminem, a pierwsze opinie klientów są bardzo dobre.`;

const JAPANESE_2 = `お問い合わせいただきありがとうございます。ご注文の商品は昨日倉庫から発送され、通常は二日から三日でお届けいたします。配送状況は、マイページの注文履歴からいつでもご確認いただけます。もし商品が破損していた場合や、サイズが合わなかった場合は、到着後十四日以内にカスタマーサポートまでご連絡ください。返品にかかる送料は弊社が負担いたします。今後ともよろしくお願い申し上げます。`;

const KOREAN_2 = `정부는 내년부터 전기차 보조금 제도를 단계적으로 개편하겠다고 발표했다. 새로운 기준에 따르면 한 번 충전으로 갈 수 있는 거리가 길고 배터리 재활용이 쉬운 차량일수록 더 많은 지원을 받게 된다. 업계에서는 환영한다는 의견과 함께 준비 기간이 너무 짧다는 우려도 나왔다. 전문가들은 충전소가 부족한 지역에 먼저 투자해야 한다고 지적했으며, 관련 법안은 다음 달 국회에 제출될 예정이다.`;

const CZECH = `Knihovna ve středu města byla po dlouhé rekonstrukci znovu otevřena. Návštěvníci zde najdou nejen tisíce knih, ale také studovnu, kavárnu a dílnu pro děti. Největší zájem vzbudila digitální sbírka starých novin, kterou lze prohlížet i z domova. Ředitelka uvedla, že se počet čtenářů během prvního týdne téměř zdvojnásobil.`;

const SPANISH = `El consejo municipal aprobó ayer un plan para ampliar la red de carriles bici en toda la ciudad. Según el alcalde, las obras comenzarán en primavera y durarán unos dieciocho meses. Los vecinos del barrio antiguo pidieron que se mantengan las plazas de aparcamiento para residentes, mientras que las asociaciones ecologistas exigieron más árboles y menos asfalto. El presupuesto total asciende a doce millones de euros.`;

const HINDI_2 = `आपका ऑर्डर सफलतापूर्वक दर्ज हो गया है और तीन दिनों के भीतर आपके पते पर पहुँचा दिया जाएगा। यदि आप भुगतान का तरीका बदलना चाहते हैं तो कृपया अपने खाते की सेटिंग में जाएँ। किसी भी सहायता के लिए हमारी टीम से सुबह नौ बजे से शाम छह बजे तक संपर्क किया जा सकता है।`;

const turning = (paragraphs: readonly string[], times: number): string =>
  lines(times, (index) => {
    const sentences = paragraphs.flatMap((text) => text.split(/(?<=[.。])\s*/));
    return sentences.map((_, at) => sentences[(at * 7 + index) % sentences.length]).join(" ");
  });

/** Long texts of one kind each. */
export const longTexts = {
  english: turning([ENGLISH, ENGLISH_2], 10),
  json: JSON.stringify(
    Array.from({ length: 200 }, (_, index) => record(index)),
    null,
    2,
  ),
  code: ["src/threads/ended-runs/leftovers.ts", "src/agent/run/run.ts", "src/agent/run/input.ts"]
    .map((path) => fileAt(path))
    .join("\n"),
  chinese: turning([CHINESE, CHINESE_2], 10),
} as const;

/** The weights were chosen with these. */
export const tunedSamples: readonly Sample[] = [
  { kind: "English prose", text: ENGLISH },
  { kind: "code", text: fileAt("src/threads/ended-runs/leftovers.ts") },
  { kind: "Chinese", text: CHINESE },
  { kind: "Thai", text: THAI },
  {
    kind: "JSON",
    text: JSON.stringify(
      Array.from({ length: 60 }, (_, index) => record(index)),
      null,
      2,
    ),
  },
  { kind: "digits", text: lines(300, (index) => String(numberAt("digits", index) * 977)) },
  { kind: "base64", text: bytes("base64", 6_000).toString("base64") },
  { kind: "French", text: FRENCH },
  { kind: "markdown", text: fileAt("docs/long-threads.md") },
  { kind: "Japanese", text: JAPANESE },
  { kind: "Korean", text: KOREAN },
  { kind: "Hindi", text: HINDI },
  { kind: "Polish", text: POLISH },
  { kind: "logs", text: lines(200, logLine) },
];

/** No weight was chosen with these. */
export const heldOutSamples: readonly Sample[] = [
  { kind: "English prose of a review", text: ENGLISH_2 },
  { kind: "code of a library, compiled", text: fileAt("node_modules/zod/v4/core/schemas.js", 10_000) },
  {
    kind: "code, type declarations",
    text: fileAt("node_modules/@langchain/langgraph-checkpoint/dist/base.d.ts"),
  },
  { kind: "Chinese of a report", text: CHINESE_2 },
  { kind: "Thai of a service", text: THAI_2 },
  { kind: "German", text: GERMAN },
  { kind: "Russian", text: RUSSIAN },
  { kind: "Arabic", text: ARABIC },
  { kind: "Japanese of a service", text: JAPANESE_2 },
  { kind: "Korean of a newspaper", text: KOREAN_2 },
  { kind: "Hindi of a service", text: HINDI_2 },
  { kind: "Czech", text: CZECH },
  { kind: "Spanish", text: SPANISH },
  { kind: "markdown of a library", text: fileAt("node_modules/zod/README.md") },
  {
    kind: "minified JSON",
    text: JSON.stringify(
      JSON.parse(readFileSync(new URL("../../package-lock.json", import.meta.url), "utf8")),
    ).slice(0, LONGEST),
  },
  {
    kind: "minified JSON of records",
    text: JSON.stringify(Array.from({ length: 100 }, (_, index) => record(index + 500))),
  },
  { kind: "a list of uuids", text: uuids("uuid", 200).join("\n") },
  { kind: "hex", text: bytes("hex", 6_000).toString("hex") },
  {
    kind: "base64 in lines",
    text: (bytes("lines", 6_000).toString("base64").match(/.{76}/g) ?? []).join("\n"),
  },
  {
    kind: "a CSV of numbers",
    text: lines(300, (index) =>
      [index, numberAt("csv", index) / 1_000, numberAt("more", index) % 977].join(","),
    ),
  },
  { kind: "package-lock.json", text: fileAt("package-lock.json", 50_000) },
  {
    kind: "a table in markdown",
    text: lines(
      100,
      (index) =>
        `| ${index} | order ${numberAt("table", index) % 10_000} | ${index % 2 === 0 ? "shipped" : "pending"} | ${index}.90 € |`,
    ),
  },
];
