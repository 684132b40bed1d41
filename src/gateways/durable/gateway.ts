/** The `Gateway` object: the logs and the limits of one gateway. */
import { DurableObject } from "cloudflare:workers";

export class Gateway extends DurableObject {}
