import { badInput } from "../invalid-input.ts";

export interface ImageRules {
	/** Whether an image must be a data URI. */
	embeddedImages: boolean;
}

/** `pointer` names the URL in the error message. Throws 5006. */
export function checkImageUrl(url: string, pointer: string, rules?: ImageRules): void {
	if (/^data:/i.test(url)) return;
	if (rules?.embeddedImages) throw badInput(`'${pointer}' must be a data: URI`);
	if (!/^https:\/\//i.test(url)) throw badInput(`'${pointer}' must be an https URL or a data URI`);
}
