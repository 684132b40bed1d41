/** What a model's own inputs say of the content of messages. It holds on every route (observed of the chat route). */
import { inputFamily } from "../../models/family.ts";
import type { Model } from "../../models/model.ts";
import type { ImageRules } from "../media/image-url.ts";

export interface ContentRules extends ImageRules {
	/** Whether content is a string and nothing else. */
	textOnly: boolean;
}

export function contentRules(model: Pick<Model, "input">): ContentRules {
	const content = inputFamily(model).native?.content;
	return { textOnly: content === "text", embeddedImages: content === "media" };
}
