/**
 * OpenAI's routes for images and sound, which the product does not have: for the `openai` SDK, with any model of the
 * task (platform.openai.com/docs/api-reference). Readers here choose among the answers that one call can give;
 * what would need streams, or a place to keep files (`url`), is refused in words.
 */

export { openaiImageEdit } from "./openai-image-edit.ts";
export { openaiImages } from "./openai-images.ts";
export { openaiSpeech } from "./openai-speech.ts";
export { openaiTranscription, openaiTranslation } from "./openai-transcription.ts";
