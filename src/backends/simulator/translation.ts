/**
 * Translation without a model: a phrase book of a few dozen entries in six languages. A text that it does not cover
 * word for word stays as it is, marked with the language asked for: `[fr] The train leaves at nine.` So a caller sees
 * that the right language arrived, and never takes the simulator for a translator.
 */
import type { Answer } from "../../tasks/task.ts";
import type { TranslationInput } from "../../tasks/text-transforms.ts";
import { countTokens } from "./tokens.ts";

const LANGUAGES = ["en", "es", "fr", "de", "it", "pt"] as const;

// One entry a line, the languages in the order of LANGUAGES. The first line that has a text wins.
const PHRASE_BOOK = `
hello|hola|bonjour|hallo|ciao|olá
hello world|hola mundo|bonjour le monde|hallo welt|ciao mondo|olá mundo
good morning|buenos días|bonjour|guten morgen|buongiorno|bom dia
good evening|buenas tardes|bonsoir|guten abend|buonasera|boa tarde
good night|buenas noches|bonne nuit|gute nacht|buonanotte|boa noite
goodbye|adiós|au revoir|auf wiedersehen|arrivederci|adeus
how are you|cómo estás|comment ça va|wie geht es dir|come stai|como você está
i love you|te quiero|je t'aime|ich liebe dich|ti amo|eu te amo
please|por favor|s'il vous plaît|bitte|per favore|por favor
thank you|gracias|merci|danke|grazie|obrigado
thank you very much|muchas gracias|merci beaucoup|vielen dank|grazie mille|muito obrigado
you are welcome|de nada|de rien|gern geschehen|prego|de nada
excuse me|disculpe|excusez-moi|entschuldigung|mi scusi|com licença
sorry|lo siento|désolé|es tut mir leid|mi dispiace|desculpe
yes|sí|oui|ja|sì|sim
no|no|non|nein|no|não
welcome|bienvenido|bienvenue|willkommen|benvenuto|bem-vindo
water|agua|eau|wasser|acqua|água
bread|pan|pain|brot|pane|pão
coffee|café|café|kaffee|caffè|café
friend|amigo|ami|freund|amico|amigo
house|casa|maison|haus|casa|casa
cat|gato|chat|katze|gatto|gato
dog|perro|chien|hund|cane|cachorro
book|libro|livre|buch|libro|livro
world|mundo|monde|welt|mondo|mundo
today|hoy|aujourd'hui|heute|oggi|hoje
tomorrow|mañana|demain|morgen|domani|amanhã
and|y|et|und|e|e
one|uno|un|eins|uno|um
two|dos|deux|zwei|due|dois
three|tres|trois|drei|tre|três`
	.trim()
	.split("\n")
	.map((line) => line.split("|"));

const NAMES = new Intl.DisplayNames("en", { type: "language" });
const CODES = new Map(LANGUAGES.map((code) => [NAMES.of(code)?.toLowerCase() ?? code, code]));
// ISO 639-3, as the models that name languages with their script have it: `fra_Latn`.
const LONG_CODES: Record<string, string> = {
	eng: "en",
	spa: "es",
	fra: "fr",
	deu: "de",
	ita: "it",
	por: "pt",
};

/** Column of the phrase book, or -1. */
function column(language: string): number {
	const name = language.toLowerCase().split(/[-_]/)[0] ?? "";
	const code = CODES.get(name) ?? (Object.hasOwn(LONG_CODES, name) ? LONG_CODES[name] : name);
	return (LANGUAGES as readonly (string | undefined)[]).indexOf(code);
}

const plain = (text: string): string =>
	text
		.toLowerCase()
		.replace(/[¿¡?!.,;:]/g, "")
		.trim();

/** With the capital and the closing mark of the original. */
function like(original: string, translated: string): string {
	const first = original.trim().replace(/^[¿¡]/, "").charAt(0);
	const capital = first !== first.toLowerCase();
	const mark = /(?<![?!.])[?!.]+$/.exec(original.trim())?.[0] ?? "";
	return (capital ? translated.charAt(0).toUpperCase() + translated.slice(1) : translated) + mark;
}

function translate(text: string, from: number, to: number): string | undefined {
	if (from < 0 || to < 0) return undefined;
	const lookup = (phrase: string) => PHRASE_BOOK.find((entry) => entry[from] === phrase)?.[to];
	const whole = lookup(plain(text));
	if (whole !== undefined) return like(text, whole);
	const parts = text.split(/(\s+|[¿¡?!.,;:]+)/).filter((part) => part !== "");
	const translated = parts.map((part) => (/^[\s¿¡?!.,;:]+$/.test(part) ? part : lookup(part.toLowerCase())));
	if (!translated.some((part, index) => part !== parts[index])) return undefined;
	return translated.every((part) => part !== undefined)
		? like(text, translated.join("")).replace(/([?!.])(?<!\1\1)\1+$/, "$1")
		: undefined;
}

export async function translation({
	texts,
	source_lang,
	target_lang,
}: TranslationInput): Promise<Answer<"translation">> {
	const [from, to] = [column(source_lang), column(target_lang)];
	const translations = texts.map((text) => {
		if (source_lang.toLowerCase() === target_lang.toLowerCase() || !/\p{L}/u.test(text)) return text;
		return translate(text, from, to) ?? `[${target_lang}] ${text}`;
	});
	const count = (list: string[]) => list.reduce((sum, text) => sum + countTokens(text), 0);
	const [prompt_tokens, completion_tokens] = [count(texts), count(translations)];
	const usage = { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
	return { kind: "value", output: { texts: translations, usage } };
}
