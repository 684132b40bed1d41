/** The `ResponseCache` object: the cached answers of one gateway. */
import { DurableObject } from "cloudflare:workers";

export class ResponseCache extends DurableObject {}
