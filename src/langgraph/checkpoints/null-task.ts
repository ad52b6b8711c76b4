/** The task of writes that no task made: the update and the resume value of a `Command`. Not exported. */
export const NULL_TASK = "00000000-0000-0000-0000-000000000000";
