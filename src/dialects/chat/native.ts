/** The chat models' own dialects: which shape is read and written how. */
import type { InputShape, OutputShape } from "../../models/model.ts";
import type { Reader, Writer } from "../dialect.ts";
import { guardReader, guardWriter } from "./guard.ts";
import { nativeReader } from "./native-read.ts";
import { textResponseWriter } from "./native-write.ts";
import { openAiReader } from "./openai-read.ts";
import { openAiWriter, vllmWriter } from "./openai-write.ts";

const textParts = nativeReader({ content: "parts", ranges: "current", responseFormat: true });

export const chatReaders = {
	chat: textParts,
	"chat-legacy": nativeReader({ content: "text", ranges: "older" }),
	"chat-batch": textParts,
	// Its other default for `max_tokens` is the catalogue's.
	"chat-batch-2000": textParts,
	"chat-guided": nativeReader({ content: "media", ranges: "older", guidedJson: true }),
	"chat-guided-batch": nativeReader({
		content: "media",
		ranges: "older",
		guidedJson: true,
		responseFormat: true,
	}),
	"chat-image": nativeReader({ content: "media", ranges: "older", image: true }),
	"chat-guard": guardReader,
	"chat-openai": openAiReader,
} satisfies Partial<Record<InputShape, Reader>>;

export const chatWriters = {
	"text-response": textResponseWriter(),
	"text-response-min": textResponseWriter(),
	"text-response-legacy": textResponseWriter({ noCalls: "absent" }),
	"text-response-batch": textResponseWriter(),
	"text-response-openai-tools": textResponseWriter({ calls: "openai" }),
	"guard-response": guardWriter,
	"openai-chat-completion": openAiWriter,
	"openai-chat-completion-vllm": vllmWriter,
} satisfies Partial<Record<OutputShape, Writer>>;
