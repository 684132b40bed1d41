/** Fields of a media request that its schema does not read. The backend decides which of them its engine knows. */
import type { Extended, Extensions } from "../../tasks/extensions.ts";
import { NAMEABLE } from "../nameable.ts";
import type { MultipartForm } from "./multipart.ts";

/** More than any API has. The others are ignored. */
const MAX_EXTENSIONS = 32;
/** Lists in a form. */
const LIST = /\[\]$/;

/** `null` counts as absent. `defaults`: values of the catalogue, which the engine has of its own. */
export function extended(fields: Extensions, defaults: Extensions = {}): Extended {
	const sent = Object.entries(fields).filter(
		([name, value]) => (value ?? defaults[name]) !== defaults[name] && NAMEABLE.test(name.replace(LIST, "")),
	);
	return sent.length === 0 ? {} : { extensions: Object.fromEntries(sent.slice(0, MAX_EXTENSIONS)) };
}

/** What clients write into a form for an absent value. */
const ABSENT: ReadonlySet<string> = new Set(["", "null"]);

/** The texts of a form with other names than `known`. Several texts of one name are a list. */
export function extendedByForm(form: MultipartForm, known: Readonly<Record<string, unknown>>): Extended {
	const names = new Set(
		form.parts.flatMap((part) => ("value" in part && !Object.hasOwn(known, part.name) ? [part.name] : [])),
	);
	const entries = [...names].map((name) => {
		const texts = form.texts(name).filter((text) => !ABSENT.has(text));
		return [name, texts.length > 1 || (LIST.test(name) && texts.length > 0) ? texts : texts[0]];
	});
	return extended(Object.fromEntries(entries));
}
