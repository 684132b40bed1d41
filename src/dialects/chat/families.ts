/** Readers and writers of chat models, by shape. */
import type { InputShape, OutputShape } from "../../models/family.ts";
import type { NativeWriter, Reader } from "../dialect.ts";
import { nativeReader } from "./native-read.ts";
import { textResponseWriter } from "./native-write.ts";
import { openAiReader } from "./openai-route.ts";
import { openAiWriter, vllmWriter } from "./openai-write.ts";

export const chatReaders = {
	chat: nativeReader,
	"chat-legacy": nativeReader,
	"chat-batch": nativeReader,
	"chat-batch-2000": nativeReader,
	"chat-guided": nativeReader,
	"chat-guided-batch": nativeReader,
	"chat-image": nativeReader,
	"chat-openai": openAiReader,
} satisfies Partial<Record<InputShape, Reader>>;

export const chatWriters = {
	"text-response": textResponseWriter(),
	"text-response-min": textResponseWriter(),
	"text-response-legacy": textResponseWriter({ noCalls: "absent" }),
	"text-response-batch": textResponseWriter(),
	"text-response-openai-tools": textResponseWriter({ calls: "openai" }),
	"openai-chat-completion": openAiWriter,
	"openai-chat-completion-vllm": vllmWriter,
} satisfies Partial<Record<OutputShape, NativeWriter>>;

export const CHAT_READERS: Partial<Record<InputShape, Reader>> = chatReaders;
export const CHAT_WRITERS: Partial<Record<OutputShape, NativeWriter>> = chatWriters;
