/** Converts languages of speech: Whisper's engines send `en` or `english`, and each dialect requires one form. */
import { own } from "../../core/own.ts";

/** Whisper's own list. */
const CODES =
	"af am ar as az ba be bg bn bo br bs ca cs cy da de el en es et eu fa fi fo fr gl gu ha haw he hi hr ht hu hy id is it ja jw ka kk km kn ko la lb ln lo lt lv mg mi mk ml mn mr ms mt my ne nl nn no oc pa pl ps pt ro ru sa sd si sk sl sn so sq sr su sv sw ta te tg th tk tl tr tt uk ur uz vi yi yo yue zh".split(
		" ",
	);

/** Whisper's names that differ from CLDR's. */
const WHISPER_NAMES: Record<string, string> = {
	jw: "javanese",
	my: "myanmar",
	no: "norwegian",
	nn: "nynorsk",
	tl: "tagalog",
	ht: "haitian creole",
	yue: "cantonese",
};

/** `en` -> `english`. Any other text is returned in lower case. */
export function languageName(language: string): string {
	const code = language.toLowerCase();
	const name = own(WHISPER_NAMES, code);
	if (name !== undefined) return name;
	if (!CODES.includes(code)) return code;
	return new Intl.DisplayNames("en", { type: "language" }).of(code)?.toLowerCase() ?? code;
}

/** `english` -> `en`. Any other text is returned in lower case. */
export function languageCode(language: string | undefined): string | undefined {
	const name = language?.toLowerCase();
	if (name === undefined || CODES.includes(name)) return name;
	return CODES.find((code) => languageName(code) === name) ?? name;
}
