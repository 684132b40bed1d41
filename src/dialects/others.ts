/**
 * Everything about dialects that `/chat/completions` and the native chat models do not need: one module, which loads at its first use.
 * Several modules would share code with each other, and the bundler makes a file of each shared part. Every file costs startup time.
 */
export { openaiCompletions } from "./chat/completions.ts";
export { decisionsDialect } from "./decisions/decisions.ts";
export { geminiEmbedding, geminiEmbeddings } from "./gemini/embeddings.ts";
export { geminiContent } from "./gemini/gemini.ts";
export { countedRequest } from "./gemini/request.ts";
export { openaiImageEdit } from "./media/openai-image-edit.ts";
export { mergeImages, openaiImages, singleImageBodies } from "./media/openai-images.ts";
export { openaiSpeech } from "./media/openai-speech.ts";
export { openaiTranscription, openaiTranslation } from "./media/openai-transcription.ts";
export { anthropicMessages } from "./messages/messages.ts";
export { liveDialect, nativeDialect } from "./native.ts";
export { responses } from "./responses/responses.ts";
export { modelSchema } from "./schema.ts";
export { openaiEmbeddings } from "./text/openai-embeddings.ts";
export { openaiModerations } from "./text/openai-moderations.ts";
export { rerankRoute } from "./text/rerank-route.ts";
