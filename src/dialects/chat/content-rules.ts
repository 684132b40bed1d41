/** The message content that a model's own schema allows. It applies on every route (observed on the chat route). */
import { inputFamily } from "../../models/family.ts";
import type { Model } from "../../models/model.ts";
import type { ImageRules } from "../media/image-url.ts";

export interface ContentRules extends ImageRules {
	/** Whether content must be a string. */
	textOnly: boolean;
}

export function contentRules(model: Pick<Model, "input">): ContentRules {
	const content = inputFamily(model).native?.content;
	return { textOnly: content === "text", embeddedImages: content === "media" };
}
