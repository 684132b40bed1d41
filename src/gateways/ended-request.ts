/** A request whose answer has ended, and its observers. Types only. */
import type { GatewayEnd, GatewayExchange } from "./exchange.ts";
import type { LoggedBody } from "./logs/payload.ts";
import type { GatewayOptions } from "./options.ts";
import type { GatewayStep } from "./request.ts";
import type { GatewaySettings } from "./settings.ts";

/** What is known of a request when its answer has ended. */
export interface EndedRequest {
	exchange: GatewayExchange;
	end: GatewayEnd;
	settings: GatewaySettings;
	/** The last one that ran. Absent: the request failed before. */
	step?: GatewayStep | undefined;
	/** Of the step, or of the request. */
	options: GatewayOptions;
	/** The content type of the answer. */
	responseType: string | null;
	/** Absent: the answer has no body. */
	response?: LoggedBody | undefined;
	/** The answer broke off. */
	failed: boolean;
	/** The caller left before the end of the answer. */
	hasLeft: boolean;
}

/** Must not throw. */
export type EndObserver = (request: EndedRequest) => void;
