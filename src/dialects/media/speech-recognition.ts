/** Tables of the readers and writers of speech recognition by shape. */
import type { InputShape, OutputShape } from "../../models/family.ts";
import type { Reader, Writer } from "../dialect.ts";
import { deepgramReaders, deepgramWriters } from "./deepgram.ts";
import { whisperReaders, whisperWriters } from "./whisper.ts";

export const speechRecognitionReaders = {
	...whisperReaders,
	...deepgramReaders,
} satisfies Partial<Record<InputShape, Reader>>;

export const speechRecognitionWriters = {
	...whisperWriters,
	...deepgramWriters,
} satisfies Partial<Record<OutputShape, Writer>>;
