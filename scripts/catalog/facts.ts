/** The facts of a model that `npm run catalog` compares. Both sides have the same fields and units. */

export type ModelKind = "workers-ai" | "third-party";
/** US dollars by unit: `per M input tokens`, `per M input tokens above 272000`. */
export type PriceList = Readonly<Record<string, number>>;

/** A fact that is absent is unknown, and is not compared. */
export interface ModelFacts {
	id: string;
	kind: ModelKind;
	/** In lower case, because the product writes one in two ways. */
	task: string;
	uuid?: string;
	/** `YYYY-MM-DD` */
	created?: string;
	context_window?: number;
	max_input_tokens?: number;
	output_dimensions?: number;
	/** `YYYY-MM-DD` */
	planned_deprecation_date?: string;
	/** Properties with the value `true`, sorted. */
	flags?: readonly string[];
	request_formats?: readonly string[];
	prices?: PriceList;
}

export const priceKey = (unit: string, aboveInputTokens?: number): string =>
	aboveInputTokens === undefined ? unit : `${unit} above ${aboveInputTokens}`;
