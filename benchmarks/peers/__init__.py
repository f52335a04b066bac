"""The same webhooks on bots made with other frameworks, beside Kaiwa.

install    the peers, in a folder of their own     kept   what a kill -9 and a repeated event do
chat_sdk.js, package.json   Vercel's Chat SDK      requirements.txt   pydantic-ai

The naive bot and the webhook before pydantic-ai's agent are those of benchmarks.cost.
"""
