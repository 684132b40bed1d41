import { Banner } from "@cloudflare/kumo/components/banner";
import { Button } from "@cloudflare/kumo/components/button";
import { Loader } from "@cloudflare/kumo/components/loader";
import { useEffect } from "react";
import { ApiError } from "../api/client.ts";
import { content, focusIfLost } from "./focus.ts";

interface Props {
	error: Error;
	/** Absent: another attempt is not possible here. */
	onRetry?: (() => void) | undefined;
	/** The next attempt is in progress. */
	retrying?: boolean;
}

/** A rule of a token or an account: its sentence says what helps. */
const IS_RULE = /the token or the account/;
const HINTS: Readonly<Record<number, string>> = {
	403: " The token of this session lacks the permission.",
	429: " Wait a moment, then try again.",
};

export function Failure({ error, onRetry, retrying = false }: Props) {
	const status = error instanceof ApiError ? error.status : 0;
	// The button disappears with the message.
	useEffect(() => () => focusIfLost(content()), []);
	return (
		<div role="alert" className="failure">
			<FailureBanner text={withPoint(plain(error.message)) + hintOf(status, error.message)} />
			{onRetry && status !== 403 && (
				<Button size="sm" onClick={onRetry} icon={retrying ? <Loader size={14} /> : undefined}>
					Try again
				</Button>
			)}
		</div>
	);
}

const hintOf = (status: number, message: string): string =>
	IS_RULE.test(message) ? "" : (HINTS[status] ?? "");

export const FailureBanner = ({ text }: { text: string }) => (
	<Banner variant="error" description={withPoint(plain(text))} />
);

/** Without the names of errors that the wire formats of models put in front. */
const plain = (text: string): string => text.replace(/^(?:AiError: )+/, "");

const withPoint = (text: string): string => (/[.!?…)]$/.test(text) ? text : `${text}.`);
