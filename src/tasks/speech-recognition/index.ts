import { audioUpperBound, measuredAudio } from "../../counting/quantities.ts";
import type { TaskDefinition } from "../definition.ts";
import type { Transcript, TranscriptionInput } from "./types.ts";

export const speechRecognition: TaskDefinition<TranscriptionInput, Transcript> = {
	estimate: ({ audio }) => audioUpperBound(audio),
	measure: ({ audio }, transcript) =>
		measuredAudio(audio, { reported: transcript.duration, speechEnd: lastEnd(transcript) }),
};

const lastEnd = ({ segments = [], words = [] }: Transcript): number =>
	[...segments, ...words].reduce((latest, { end }) => Math.max(latest, end), 0);
