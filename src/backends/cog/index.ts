/**
 * Cog, the container API of Replicate's models: https://cog.run/http. A container has one model, so the target's `model`
 * is not sent. Its OpenAPI document has the inputs. It is read with each request, because a new build may have other
 * inputs. The fields of a task are sent as the inputs with matching names (`inputs.ts`).
 *
 * The gateway chooses the id of a prediction, so that it can cancel it when the caller disconnects. Cog supports that for
 * streams, and cancels other predictions when their connection closes.
 *
 * Known differences: text models have one prompt, so a conversation becomes a transcript; no tools and no JSON schema;
 * only some models count tokens; while a container starts, the request goes to another target.
 */
import { defineBackend } from "../handler.ts";
import { embedTexts } from "./embeddings.ts";
import { generateImage, speak, transcribe } from "./media.ts";
import { failureOfCog } from "./predictions.ts";
import { describeImage, generateText } from "./text.ts";

export const cog = defineBackend(
	{
		"text-generation": generateText,
		"text-embeddings": embedTexts,
		"text-to-image": generateImage,
		"text-to-speech": speak,
		"speech-recognition": transcribe,
		"image-to-text": describeImage,
	},
	(call) => ({ ...call, refusal: (refused) => failureOfCog(call, refused) }),
	{ extended: ["speech-recognition", "text-to-speech", "text-to-image"] },
);
