/** Turn detection: whether a speaker has finished. */
import { audioUpperBound, measuredAudio } from "../../counting/quantities.ts";
import type { SampleType } from "../../counting/samples.ts";
import type { Media } from "../../media/media.ts";
import type { TaskDefinition } from "../definition.ts";

export interface TurnInput {
	audio: Media;
	/** Sample format of headerless audio. */
	dtype?: SampleType;
}

export interface TurnOutput {
	is_complete: boolean;
	/** Probability, 0 to 1, that the speaker has finished. */
	probability: number;
}

export const turnDetection: TaskDefinition<TurnInput, TurnOutput> = {
	estimate: ({ audio, dtype }) => audioUpperBound(audio, dtype),
	measure: ({ audio, dtype }) => measuredAudio(audio, { sampleType: dtype }),
};
