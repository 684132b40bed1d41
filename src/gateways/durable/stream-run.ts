/** The `StreamRun` object: one stream that its caller can resume. */
import { DurableObject } from "cloudflare:workers";

export class StreamRun extends DurableObject {}
