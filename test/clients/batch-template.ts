/** The model of the product's template of batches. The catalogue does not list it. */
export const TEMPLATE_MODEL = "@cf/meta/ray-llama-3.3-70b-instruct-fp8-fast";

export const TEMPLATE_ALIASES = { [TEMPLATE_MODEL]: "@cf/meta/llama-3.3-70b-instruct-fp8-fast" };
