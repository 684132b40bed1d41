const simulator = [{ backend: "simulator" }];

/** What clients and their manuals still ask for, and the product has withdrawn: it answers where a route names it. */
export const CLIENT_ROUTES = {
	"@cf/facebook/bart-large-cnn": simulator,
	"google/gemini-3-flash": simulator,
	"@hf/nousresearch/hermes-2-pro-mistral-7b": simulator,
};
