/**
 * The predefined profiles of data-loss prevention. A profile is an expression whose repetitions are all bounded, and whose parts cannot match
 * the same text in two ways, so that a scan takes linear time. `isValid` checks what an expression cannot.
 */
import { beginsWithIban } from "./iban.ts";

export interface Profile {
	pattern: RegExp;
	isValid?(match: string): boolean;
}

/** A time since 1970, from 2001 to 2033. Cards of 13 digits begin with 4. */
const MILLISECONDS = /^1\d{12}$/;

export const PROFILES: Readonly<Record<string, Profile>> = {
	/**
	 * 13 to 19 digits with a correct check digit. Other marks than one space or dash are found only between four groups of four: numbers
	 * with a decimal point are no cards.
	 */
	credit_card: {
		pattern: /\b\d(?:[ -]?\d){12,18}\b|\b\d{4}[ \t./_-]{1,3}\d{4}[ \t./_-]{1,3}\d{4}[ \t./_-]{1,3}\d{4}\b/g,
		isValid: (match) => !MILLISECONDS.test(match) && hasLuhn(match.replace(/\D/g, "")),
	},
	iban: { pattern: /\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}/g, isValid: beginsWithIban },
	/** One character before the `@` is enough: to match them all costs 64 times as much. */
	email: { pattern: /[\w%+-]@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}\b/g },
	/** Numbers that were never issued are not found. */
	us_ssn: { pattern: /\b(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}\b/g },
	/** Keys of OpenAI, Anthropic, AWS, GitHub, GitLab, Google, Slack and Stripe, and private keys. */
	api_key: {
		pattern:
			/\b(?:sk-[\w-]{20,200}|[rs]k_live_\w{16,100}|A[KS]IA[A-Z0-9]{16}|gh[opsur]_\w{36,251}|github_pat_\w{22,244}|glpat-[\w-]{20,100}|AIza[\w-]{35}|xox[abprs]-[\w-]{10,200})|-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----/g,
	},
};

/** Whether the text has a match of the profile. */
export function contains(text: string, { pattern, isValid }: Profile): boolean {
	for (const [match] of text.matchAll(pattern)) if (isValid?.(match) ?? true) return true;
	return false;
}

/** The check digit of payment cards (ISO/IEC 7812-1). A number of equal digits is no card. */
function hasLuhn(digits: string): boolean {
	let sum = 0;
	for (let at = 0; at < digits.length; at++) {
		const digit = Number(digits[digits.length - 1 - at]);
		const weighted = at % 2 === 0 ? digit : digit * 2;
		sum += weighted > 9 ? weighted - 9 : weighted;
	}
	return sum % 10 === 0 && new Set(digits).size > 1;
}
