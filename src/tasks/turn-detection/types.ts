/** Input and output of turn detection. */
import type { SampleType } from "../../counting/samples.ts";
import type { Media } from "../../media/media.ts";

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
