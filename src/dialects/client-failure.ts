/** HTTP statuses of failures for Anthropic's and Google's clients. */
import type { AiError, FailureKey } from "../core/errors.ts";

/** SDKs and agents expect 404 for a model that does not exist, and 400 for a prompt that is too long. */
const STATUSES: Partial<Record<FailureKey, number>> = {
	noSuchModel: 404,
	deprecatedModel: 404,
	noRoute: 404,
	contextWindowExceeded: 400,
};

export const clientStatus = ({ key, status }: AiError): number => STATUSES[key] ?? status;
