/** How a refusal shows a name of the request. */

const MAX_SHOWN = 100;

/** A longer text is cut, so that the refusal does not repeat all of it. */
export const shortened = (text: string): string =>
	text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN).toWellFormed()}…` : text;
