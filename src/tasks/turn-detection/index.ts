import { audioUpperBound, measuredAudio } from "../../counting/quantities.ts";
import type { TaskDefinition } from "../definition.ts";
import type { TurnInput, TurnOutput } from "./types.ts";

export const turnDetection: TaskDefinition<TurnInput, TurnOutput> = {
	estimate: ({ audio, dtype }) => audioUpperBound(audio, dtype),
	measure: ({ audio, dtype }) => measuredAudio(audio, { sampleType: dtype }),
};
