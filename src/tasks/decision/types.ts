/** Inputs and outputs of decisions (the Clef models): a state, questions about it, and one answer with probabilities per question. */

export type Question =
	| { type: "noul"; instructions: string; criteria?: { true?: string; false?: string } }
	| { type: "choice"; instructions: string; criteria: Record<string, string> }
	| { type: "score"; instructions: string; criteria: string[] };

export interface DecisionInput {
	/** The last part of the model's id: for the Clef models the caller's selector. */
	model: string;
	state: unknown;
	questions: Record<string, Question>;
	/** Data URLs of the media that belong to the state. */
	images: string[];
	audio: string[];
	videos: string[];
}

export type DecisionAnswer =
	| { type: "noul"; noul: number }
	| { type: "choice"; choice: string; probabilities: Record<string, number>; confidence: number }
	| {
			type: "score";
			score: number;
			legend: Record<string, string>;
			probabilities: Record<string, number>;
			confidence: number;
	  };

export interface DecisionOutput {
	answers: Record<string, DecisionAnswer>;
	usage: { input_tokens: number; output_tokens: number };
	/** A chat model was asked for the probabilities. Absent: the engine has decisions of its own. */
	method?: "prompted";
}
