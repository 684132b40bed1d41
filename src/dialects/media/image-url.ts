/**
 * Addresses of images. An engine fetches what it is told to, from the network and the disk that it stands on: a caller
 * may send it to the public web, by https, and nowhere else.
 */
import { AiError } from "../../core/errors.ts";

export interface ImageRules {
	/** Whether an image must come inside the request. */
	embeddedImages: boolean;
}

/** `pointer` names the address in a refusal. Throws 5006. */
export function checkImageUrl(url: string, pointer: string, rules?: ImageRules): void {
	if (/^data:/i.test(url)) return;
	if (rules?.embeddedImages) throw new AiError("badInput", `Error: '${pointer}' must be a data: URI`);
	if (!/^https:\/\//i.test(url))
		throw new AiError("badInput", `Error: '${pointer}' must be an https URL or a data URI`);
}
