/** Properties of a row of `models/search`. */
import type { ModelRow } from "../api/types.ts";

const FLAGS: Readonly<Record<string, string>> = {
	function_calling: "Tools",
	vision: "Vision",
	reasoning: "Reasoning",
	lora: "LoRA",
	async_queue: "Queue",
	realtime: "Real time",
	partner: "Partner",
	beta: "Beta",
	require_workers_paid: "Paid plan",
};

const propertyOf = (model: ModelRow, id: string): unknown =>
	model.properties.find(({ property_id }) => property_id === id)?.value;

export const isFree = (model: ModelRow): boolean => propertyOf(model, "price") === undefined;

export const capabilitiesOf = (model: ModelRow): string[] =>
	Object.entries(FLAGS).flatMap(([id, title]) => (propertyOf(model, id) === "true" ? [title] : []));

export const contextOf = (model: ModelRow): number | undefined => {
	const value = Number(propertyOf(model, "context_window") ?? Number.NaN);
	return Number.isNaN(value) ? undefined : value;
};
