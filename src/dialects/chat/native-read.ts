/** Native chat inputs (`{prompt}` or `{messages}`) to a chat input. */

import { AiError } from "../../core/errors.ts";
import { inputFamily, type NativeChat } from "../../models/family.ts";
import { can, type Model } from "../../models/model.ts";
import type { ChatInput, ChatMessage, ResponseFormat } from "../../tasks/text-generation/types.ts";
import type { Reader } from "../dialect.ts";
import { perModel, present } from "../fields.ts";
import { chatCall } from "./call.ts";
import { contentRules } from "./content-rules.ts";
import { invalidInput } from "./errors.ts";
import { imagePart, withImage } from "./images.ts";
import { jsonSchemaFormat, readResponseFormat } from "./json-mode.ts";
import { readMessages } from "./messages.ts";
import { type NativeInputs, nativeSchema } from "./native-fields.ts";
import { chooseTools, readTools } from "./tools.ts";

export const nativeReader: Reader = {
	schema: perModel((model, strict) => nativeSchema(model, nativeChatOf(model), strict)),
	read: (inputs: NativeInputs, model: Model) => chatCall(readNative(inputs, model)),
};

function nativeChatOf(model: Model): NativeChat {
	const { native } = inputFamily(model);
	if (!native) throw new TypeError(`${model.input} has no native chat`);
	return native;
}

function readNative(inputs: NativeInputs, model: Model): ChatInput {
	checkLora(inputs, model);
	const { max_tokens, temperature, top_p, top_k, seed, lora } = inputs;
	const { repetition_penalty, frequency_penalty, presence_penalty } = inputs;
	return {
		...readConversation(inputs, model),
		stream: inputs.stream ?? false,
		...present({ max_tokens, temperature, top_p, top_k, seed }),
		...present({ repetition_penalty, frequency_penalty, presence_penalty, lora }),
		...present({ response_format: readFormat(inputs) }),
		...chooseTools(readTools(inputs.tools), inputs.tool_choice),
	};
}

/** An adapter is never ignored: a caller who names one must not get an answer without it. Throws 5005. */
export function checkLora({ lora }: { lora?: string | null | undefined }, model: Model): void {
	if (lora != null && !can(model, "lora"))
		throw new AiError("loraUnsupported", `The model ${model.id} does not support LoRA inference`);
}

/** A bare prompt is what the user says in an empty conversation, unless it is `raw`. */
function readConversation(
	{ prompt, messages, raw, image }: NativeInputs,
	model: Model,
): Pick<ChatInput, "messages" | "prompt"> {
	if (prompt !== undefined && raw) {
		if (image !== undefined) throw invalidInput("image cannot be combined with raw");
		return { messages: [], prompt };
	}
	const rules = { contentOptional: nativeChatOf(model).content === "media", ...contentRules(model) };
	const said: ChatMessage[] =
		prompt === undefined ? readMessages(messages ?? [], rules) : [{ role: "user", content: prompt }];
	return { messages: image === undefined ? said : withImage(said, imagePart(image)) };
}

/** `guided_json` is the older name of the same thing. */
function readFormat({ response_format, guided_json }: NativeInputs): ResponseFormat | undefined {
	if (response_format) return readResponseFormat(response_format);
	return guided_json && jsonSchemaFormat(guided_json);
}
