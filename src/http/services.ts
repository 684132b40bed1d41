/** The services of the handlers: those of the pipeline, and those of the rooms above it. Types only. */
import type { ResponsesServices } from "../responses/services.ts";

export type AppServices = ResponsesServices;
