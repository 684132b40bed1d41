/**
 * Fields of a media request that are no part of the task's input, by the caller's names: options that only some engines know. A backend
 * sends those that its engine knows, and names the others in `x-ganglion-dropped`.
 */
export type Extensions = Readonly<Record<string, unknown>>;

export interface Extended {
	extensions?: Extensions;
}
