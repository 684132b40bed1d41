/** The response to a request that has passed too many gateways: it runs in a circle (`src/outbound/passed-headers.ts`). */
import { AiError } from "../../core/errors.ts";
import { failureEnvelope } from "../../http/envelope.ts";

export const looping = (): Response => failureEnvelope(new AiError("gatewayLoop"), crypto.randomUUID());
