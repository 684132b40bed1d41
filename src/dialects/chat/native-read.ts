/** Reads native chat inputs (`{prompt}` or `{messages}`). */
import { pick, present } from "../../core/present.ts";
import type { NativeChat } from "../../models/families.ts";
import { inputFamily } from "../../models/family.ts";
import type { Model } from "../../models/model.ts";
import type { ChatInput, ChatMessage, ResponseFormat } from "../../tasks/text-generation/types.ts";
import type { Reader } from "../dialect.ts";
import { perModel } from "../fields.ts";
import { invalidInput } from "../invalid-input.ts";
import { chatCall, checkLora } from "./call.ts";
import { imagePart, withImage } from "./images.ts";
import { jsonSchemaFormat, readResponseFormat } from "./json-mode.ts";
import { contentRules, readMessages } from "./messages.ts";
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
	return {
		...readConversation(inputs, model),
		stream: inputs.stream ?? false,
		...present({
			...pick(inputs, "max_tokens", "temperature", "top_p", "top_k", "seed"),
			...pick(inputs, "repetition_penalty", "frequency_penalty", "presence_penalty", "lora"),
			response_format: readFormat(inputs),
		}),
		...chooseTools(readTools(inputs.tools), inputs.tool_choice),
	};
}

/** A prompt becomes one user message, unless it is `raw`. */
function readConversation(
	{ prompt, messages, raw, image }: NativeInputs,
	model: Model,
): Pick<ChatInput, "messages" | "prompt"> {
	if (prompt !== undefined && raw) {
		if (image !== undefined) throw invalidInput("image cannot be combined with raw");
		return { messages: [], prompt };
	}
	const rules = { contentOptional: nativeChatOf(model).content === "media", ...contentRules(model) };
	const conversation: ChatMessage[] =
		prompt === undefined ? readMessages(messages ?? [], rules) : [{ role: "user", content: prompt }];
	return { messages: image === undefined ? conversation : withImage(conversation, imagePart(image)) };
}

/** `guided_json` is the legacy name of `response_format`. */
function readFormat({ response_format, guided_json }: NativeInputs): ResponseFormat | undefined {
	if (response_format) return readResponseFormat(response_format);
	return guided_json && jsonSchemaFormat(guided_json);
}
