/**
 * Views of objects: some members are replaced, and all others are the object's, which stays as it is. The views differ
 * in what the object's own methods run on.
 */

/**
 * They run on the view, so they see the replaced members, and their writes stay in the view. Methods fail if their
 * class has `#private` fields, which a view does not have. LangChain's clients have none, but users' classes can.
 */
export function viewOf<Target extends object>(target: Target, members: object): Target {
  const view: Target = Object.create(target);
  for (const [name, value] of Object.entries(members)) {
    Object.defineProperty(view, name, { value, writable: true, enumerable: true, configurable: true });
  }
  return view;
}

/** They also run on the view, but their writes go to the object. The members can still change. */
export function liveView<Target extends object>(target: Target, members: object): Target {
  return new Proxy(target, {
    get: (_, name, receiver) =>
      Object.hasOwn(members, name) ? Reflect.get(members, name) : Reflect.get(target, name, receiver),
  });
}

/**
 * They run on the object itself, because it can have private fields.
 *
 * @param onView The names of methods that run on the view, so that they see the replaced members.
 */
export function boundView<Target extends object>(
  target: Target,
  members: object,
  onView: ReadonlySet<unknown> = new Set(),
): Target {
  return new Proxy(target, {
    get(_, name) {
      if (Object.hasOwn(members, name)) return Reflect.get(members, name);
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" && !onView.has(name) ? value.bind(target) : value;
    },
  });
}
