import { bytesOfBase64, sizeOfUrl } from "../../counting/images.ts";
import type { Tally } from "../../counting/tally.ts";
import type { DecisionInput } from "./types.ts";

const WAV_URL = /^data:audio\/(x-|vnd\.)?wave?[;,]/i;

/** Adds the parts of a decision to a token tally. */
export function tallyDecision(
	{ state, questions, images, audio, videos }: DecisionInput,
	tally: Tally,
): void {
	tally.opening();
	tally.marks(2);
	tally.json(state);
	for (const question of Object.values(questions)) {
		tally.marks(2);
		tally.json(question);
	}
	for (const url of images) tally.image(sizeOfUrl(url));
	for (const url of audio) tally.sound(bytesOfBase64(url), WAV_URL.test(url) ? "samples" : "compressed");
	for (const url of videos) tally.video(bytesOfBase64(url));
}
