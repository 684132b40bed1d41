/**
 * OpenAI's routes for images and audio, which the product does not have: for the `openai` SDK, with any model of the task
 * (platform.openai.com/docs/api-reference). Options that need streams or stored files (`url`) are refused.
 */
export { openaiImageEdit } from "./openai-image-edit.ts";
export { openaiImages } from "./openai-images.ts";
export { openaiSpeech } from "./openai-speech.ts";
export { openaiTranscription, openaiTranslation } from "./openai-transcription.ts";
