/** What a model's own inputs say of the content of messages. It holds on every route (observed of the chat route). */
import type { InputShape, Model } from "../../models/model.ts";
import type { ImageRules } from "../media/image-url.ts";

export interface ContentRules extends ImageRules {
	/** Whether content is a string and nothing else. */
	textOnly: boolean;
}

const TEXT_ONLY: readonly InputShape[] = ["chat-legacy", "chat-guard"];
const EMBEDDED_IMAGES: readonly InputShape[] = ["chat-guided", "chat-guided-batch", "chat-image"];

export const contentRules = ({ input }: Pick<Model, "input">): ContentRules => ({
	textOnly: TEXT_ONLY.includes(input),
	embeddedImages: EMBEDDED_IMAGES.includes(input),
});
