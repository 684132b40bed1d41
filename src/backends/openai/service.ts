/**
 * OpenAI's own service refuses fields that it does not know; the engines that copied its routes ignore them, and have
 * fields of their own. Which of the two a target is decides what it is sent.
 */
import type { Target } from "../backend.ts";

/** Of an address as the configuration has it: the host in small letters, no credentials. */
const SERVICE = /^https?:\/\/(?:[^/]+\.)?(?:api\.openai\.com|openai\.azure\.com)(?::\d+)?(?:\/|$)/;

/** By the addresses of the configuration: as many as there are. A request asks several times. */
const known = new Map<string, boolean>();

export function isOpenAiService({ url }: Pick<Target, "url">): boolean {
	const told = known.get(url);
	if (told !== undefined) return told;
	const is = SERVICE.test(url);
	known.set(url, is);
	return is;
}
