/** The formats of failures at AI Gateway's addresses. */
import { AiError } from "../../core/errors.ts";
import { type FailureFormat, failureOfClient, openAiFailure } from "../../http/failure-formats.ts";
import { absentReason, beginsAsOpenAi } from "../openai/openai-absent.ts";
import { gatewayFailure, gatewayPlaneFailure } from "./gateway-failure.ts";
import { hasOpenAiFailures } from "./step-format.ts";

/** A missing or invalid credential has AI Gateway's code and format, also at the address of a provider. */
export const refusedByGateway =
	(failure: FailureFormat): FailureFormat =>
	(error, requestId, request) =>
		error.key === "authentication"
			? gatewayFailure(new AiError("gatewayUnauthorized"), requestId)
			: failure(error, requestId, request);

/** Failures that show that a request is not for a gateway: by its account, its method, or its steps. */
const NOT_FOR_A_GATEWAY: ReadonlySet<string> = new Set([
	"forbidden",
	"methodNotAllowed",
	"noRoute",
	"unroutableAccount",
]);

/**
 * Paths of OpenAI such as `/v1/responses/compact` have the form of a gateway's address. They are refused in the format of the
 * client that calls them, also without a valid credential.
 */
export const orOpenAi =
	(failure: FailureFormat): FailureFormat =>
	(error, requestId, request) => {
		if (error.key === "authentication")
			return (beginsAsOpenAi(request.path) ? failureOfClient : failure)(error, requestId, request);
		const reason = NOT_FOR_A_GATEWAY.has(error.key) ? absentReason(request.path) : undefined;
		return reason === undefined
			? failure(error, requestId, request)
			: failureOfClient(new AiError("noRoute", reason), requestId, request);
	};

/** By the provider and the path of its API. */
export const providerFailure: FailureFormat = (error, requestId, request) => {
	const provider = request.param("provider") ?? "";
	const endpoint = request.param("endpoint") ?? "";
	const isOpenAi = error.failure.plane !== "gateway" && hasOpenAiFailures({ provider, endpoint });
	return (isOpenAi ? openAiFailure : gatewayPlaneFailure)(error, requestId, request);
};
