/** What the dialects of speech recognition share. */
import * as z from "zod";
import type { TranscriptionInput, Word } from "../../tasks/speech-recognition/types.ts";
import type { TaskCall } from "../../tasks/task.ts";

export const recognize = (input: TranscriptionInput): TaskCall => ({ task: "speech-recognition", input });

export const TimedWord = z.object({ word: z.string(), start: z.number(), end: z.number() });

/** Whisper's words carry their own leading spaces. */
export const timedWord = ({ word, start, end }: Word): z.output<typeof TimedWord> => ({
	word: word.trim(),
	start,
	end,
});
