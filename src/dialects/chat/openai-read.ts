/** Reads OpenAI's chat body. */
import type { z } from "zod";
import { pick } from "../../core/pick.ts";
import type { ChatInput, ChatMessage } from "../../tasks/text-generation/types.ts";
import type { Reader } from "../dialect.ts";
import { perModel, present } from "../fields.ts";
import { invalidInput } from "../invalid-input.ts";
import { chatCall } from "./call.ts";
import { readResponseFormat } from "./json-mode.ts";
import { readMessages } from "./messages.ts";
import { checkLora } from "./native-read.ts";
import { EFFORTS, type openAiFields, openAiSchema, PASSTHROUGH_FIELDS } from "./openai-fields.ts";
import { chooseTools, functionsToTools, readTools } from "./tools.ts";

export const openAiReader: Reader = {
	schema: perModel(openAiSchema),
	read(inputs: z.output<ReturnType<typeof openAiSchema>>, model) {
		checkLora(inputs, model);
		const messages: ChatMessage[] =
			"prompt" in inputs
				? [{ role: "user", content: inputs.prompt }]
				: readMessages(inputs.messages, { contentOptional: false, embeddedImages: false });
		return chatCall(readOpenAi(functionsToTools(inputs), messages));
	},
};

type OpenAiInputs = z.output<z.ZodObject<ReturnType<typeof openAiFields>>> & {
	response_format?:
		| { type: "text" | "json_object" | "json_schema"; json_schema?: unknown; schema?: unknown }
		| null
		| undefined;
};

export function readOpenAi(inputs: OpenAiInputs, messages: ChatMessage[]): ChatInput {
	const { stop, response_format, reasoning_effort, parallel_tool_calls } = inputs;
	// OpenAI and vLLM refuse it as well: without `logprobs` the answer has no field for them.
	if (inputs.top_logprobs && !inputs.logprobs) throw invalidInput("top_logprobs: logprobs must be true");
	const offered = chooseTools(readTools(inputs.tools), inputs.tool_choice);
	const passthrough = present(pick(inputs, ...PASSTHROUGH_FIELDS));
	return {
		messages,
		stream: inputs.stream ?? false,
		...offered,
		...present({
			max_tokens: inputs.max_completion_tokens ?? inputs.max_tokens,
			...pick(inputs, "temperature", "top_p", "top_k", "seed", "n", "logprobs", "top_logprobs", "logit_bias"),
			...pick(inputs, "frequency_penalty", "presence_penalty", "repetition_penalty"),
			stop: typeof stop === "string" ? [stop] : stop,
			// OpenAI's service refuses it without tools.
			parallel_tool_calls: offered.tools && parallel_tool_calls,
			response_format: response_format && readResponseFormat(response_format),
			...pick(inputs, "chat_template_kwargs", "user", "lora"),
		}),
		// `null` disables reasoning, too.
		...(reasoning_effort !== undefined && { reasoning_effort: EFFORTS[reasoning_effort ?? "none"] }),
		...(Object.keys(passthrough).length > 0 && { passthrough }),
	};
}
