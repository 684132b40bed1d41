import { audioAtMost, known, measuredAudio } from "../../counting/quantities.ts";
import type { TaskDefinition } from "../definition.ts";
import type { Transcript, TranscriptionInput } from "./types.ts";

export const speechRecognition: TaskDefinition<TranscriptionInput, Transcript> = {
	estimate: ({ audio }) => audioAtMost(audio),
	measure({ audio }, transcript) {
		const { duration } = transcript;
		return duration
			? known({ audioSeconds: duration })
			: measuredAudio(audio, { spokenUntil: lastEnd(transcript) });
	},
};

const lastEnd = ({ segments = [], words = [] }: Transcript): number =>
	[...segments, ...words].reduce((latest, { end }) => Math.max(latest, end), 0);
