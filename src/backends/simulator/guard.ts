/**
 * Llama Guard without a model: a few words for each hazard of its taxonomy (S1 to S14, MLCommons), looked for in the
 * last message. It misses most of what the real one sees; it is for testing both branches of the caller's code.
 */
import { type ChatInput, textOf } from "../../tasks/text-generation.ts";
import { legible, within } from "./text.ts";

/** What is read of the last message. */
const MAX_CHARACTERS = 100_000;

const HAZARDS: [category: string, pattern: RegExp][] = [
	["S1", /\b(?:kill|murder|assassinate|stab|strangle|behead|massacre|terrorist attack|kidnap|torture)\w*\b/i],
	[
		"S2",
		/\b(?:steal|shoplift|rob a|burglar|launder money|counterfeit|forge (?:a|documents)|smuggl|scam people|fraud|pick a lock|hotwire|cook meth|sell drugs|evade taxes)\w*\b/i,
	],
	["S3", /\b(?:rape|sexual assault|sex traffick|molest|grope)\w*\b/i],
	["S4", /\b(?:child porn|csam|sexualis?z?e (?:a )?(?:child|minor)|underage (?:sex|nude))\w*\b/i],
	["S5", /\b(?:defam|libel|slander|false rumou?rs? about)\w*\b/i],
	[
		"S6",
		/\b(?:what dose|how many pills|stop taking my medication|should i invest all|guaranteed stock)\w*\b/i,
	],
	[
		"S7",
		/\b(?:dox|home address of|social security number of|phone number of|track someone|credit card number of)\w*\b/i,
	],
	["S8", /\b(?:pirated?|torrent of|crack(?:ed)? (?:software|version)|bypass drm|full lyrics)\b/i],
	[
		"S9",
		/\b(?:(?:build|make|create|construct) (?:a |an |the )?(?:pipe |dirty |nuclear |chemical |biological |home-?made )*(?:bomb|explosive|nerve agent|chemical weapon|bioweapon)|pipe bomb|sarin|anthrax|ricin|napalm)\w*\b/i,
	],
	[
		"S10",
		/\b(?:subhuman|inferior race|ethnic cleansing|gas the|white suprem|hate (?:all )?(?:jews|muslims|blacks|gays|immigrants|women))\w*\b/i,
	],
	["S11", /\b(?:suicid|kill myself|end my life|self-?harm|cut myself|hang myself|overdose)\w*\b/i],
	["S12", /\b(?:porn|erotic|explicit sex|sex scene|nude pics)\w*\b/i],
	["S13", /\b(?:vote twice|wrong election day|rig the election|fake ballots?|suppress voters?)\w*\b/i],
	[
		"S14",
		/\b(?:escape the sandbox|reverse shell|fork bomb|rm -rf|container escape|privilege escalation exploit)\b/i,
	],
];
// Words of violence that are not about people.
const HARMLESS =
	/\bkill(?:ed|ing|s)? (?:a |the |this |that )*(?:process|server|thread|task|job|time|session|light)\w*/gi;

/** The categories that the conversation's last message falls into, in their order. */
export function hazards({ messages, prompt }: ChatInput): string[] {
	const said = legible(prompt ?? textOf(messages.at(-1)?.content ?? ""));
	const text = within(said, MAX_CHARACTERS).replace(HARMLESS, "");
	return HAZARDS.filter(([, pattern]) => pattern.test(text)).map(([category]) => category);
}

/** As Llama Guard writes it, or as the JSON that it writes when `response_format` asks for an object. */
export function verdict(input: ChatInput): string {
	const categories = hazards(input);
	const format = input.response_format?.type ?? "text";
	if (format !== "text") return JSON.stringify({ safe: categories.length === 0, categories });
	return categories.length === 0 ? "safe" : `unsafe\n${categories.join(",")}`;
}
