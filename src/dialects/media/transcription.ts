/** The common parts of the speech recognition dialects. */
import * as z from "zod";
import type { TranscriptionInput, Word } from "../../tasks/speech-recognition/types.ts";
import type { TaskCall } from "../../tasks/task.ts";

export const transcriptionCall = (input: TranscriptionInput): TaskCall => ({
	task: "speech-recognition",
	input,
});

export const TimedWord = z.object({ word: z.string(), start: z.number(), end: z.number() });

/** Whisper's words have leading spaces. */
export const timedWord = ({ word, start, end }: Word): z.output<typeof TimedWord> => ({
	word: word.trim(),
	start,
	end,
});
