/** `AI_GATEWAY`: what the operator allows accounts to do with their gateways. Everything is off by default. */
import * as z from "zod";
import { camelCased } from "./camel-case.ts";
import { milliseconds } from "./timeouts.ts";

export const AiGatewaySchema = z
	.strictObject({
		/** Custom providers may have an address in a private network, and `http`. */
		allow_private_addresses: z.boolean().default(false),
		/** Gateways with `authentication: false` serve requests without a credential, for the account of their path. */
		allow_unauthenticated: z.boolean().default(false),
		/** Accounts may call all endpoints of a provider with the operator's key of `PROVIDER_KEYS`. */
		share_provider_keys: z.boolean().default(false),
		/** Every account has a gateway of every id, with default settings until it is created. */
		any_gateway: z.boolean().default(false),
		/** Requests that another gateway has sent may use custom providers. Otherwise a provider that is this gateway cannot multiply them. */
		allow_chained_gateways: z.boolean().default(false),
		/** The limits of a request that is passed to a provider. A complete answer has its header only when it is complete. */
		provider_timeouts: z
			.strictObject({
				header_ms: milliseconds.default(600_000),
				idle_ms: milliseconds.default(300_000),
				total_ms: milliseconds.default(3_600_000),
			})
			.prefault({}),
		/** Streams of `author/model` on the run API are resumable without `cf-aig-resumable`, as in the product. */
		resumable_streams: z.boolean().default(false),
	})
	.transform((settings) => ({
		allowPrivateAddresses: settings.allow_private_addresses,
		allowUnauthenticated: settings.allow_unauthenticated,
		shareProviderKeys: settings.share_provider_keys,
		anyGateway: settings.any_gateway,
		allowChainedGateways: settings.allow_chained_gateways,
		providerTimeouts: camelCased(settings.provider_timeouts),
		resumableStreams: settings.resumable_streams,
	}));
