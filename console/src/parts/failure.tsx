import { Banner } from "@cloudflare/kumo/components/banner";
import { Button } from "@cloudflare/kumo/components/button";
import { useEffect } from "react";
import { ApiError } from "../api/client.ts";
import { content, focusIfLost } from "./focus.ts";

interface Props {
	error: Error;
	/** Absent: another attempt is not possible here. */
	onRetry?: (() => void) | undefined;
}

export function Failure({ error, onRetry }: Props) {
	const isForbidden = error instanceof ApiError && error.status === 403;
	// Its button disappears with it.
	useEffect(() => () => focusIfLost(content()), []);
	const hint = isForbidden ? " The token of this session lacks the permission." : "";
	return (
		<div role="alert" className="failure">
			<FailureBanner text={withPoint(plain(error.message)) + hint} />
			{onRetry && !isForbidden && (
				<Button size="sm" onClick={onRetry}>
					Try again
				</Button>
			)}
		</div>
	);
}

export const FailureBanner = ({ text }: { text: string }) => (
	<Banner variant="error" description={withPoint(text)} />
);

/** Without the names of errors that the wire formats of models put in front. */
const plain = (text: string): string => text.replace(/^(?:AiError: )+/, "");

const withPoint = (text: string): string => (/[.!?…)]$/.test(text) ? text : `${text}.`);
