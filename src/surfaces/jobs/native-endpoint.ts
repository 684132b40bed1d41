/** The endpoint of lines with the model's own inputs and outputs. */
export const NATIVE_ENDPOINT = "/run";
