/** The values of a form, by the name of the field. Numbers and JSON are text. */
export type Values = Readonly<Record<string, string | boolean | File | undefined>>;
