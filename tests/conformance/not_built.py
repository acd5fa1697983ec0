"""Functions of the vectors that nothing here answers, and why."""

NOT_BUILT = {
    "extractOpaqueIdentifiers": (
        "that of 2026.3.13, whose check was off by default; of 2026.9.6 it is built, with vectors "
        "of its own"
    ),
    "resolveContextWindowInfo + evaluateContextWindowGuard": (
        "a configuration's question: the window is the model's here, or what --window says"
    ),
    "resolveMemoryFlushContextWindowTokens": (
        "a configuration's question: the window is the model's here, or what --window says"
    ),
    "getDmHistoryLimitFromSessionKey": (
        "a configuration's question: turn_slice is told the limit, and no session has a key"
    ),
    "migrateSessionEntries (in place)": (
        "a reader's question: ours reads versions 1 to 3 as they are and rewrites no entries"
    ),
    "parseSessionEntries": (
        "a reader's question: a line that cannot be read is counted here, or with --strict an "
        "error with file and line; the original passes it over in silence"
    ),
    "normalizeUsage + hasNonzeroUsage + derivePromptTokens": (
        "a reader's question: each format's usage has one spelling here, that of the format"
    ),
    "aider.history.ChatSummary.summarize": "Aider is not built",
    "autogen_core.model_context.{Buffered,HeadAndTail,TokenLimited}ChatCompletionContext"
    ".get_messages": "AutoGen is not built; sliding_window and recent_events are its first two",
    "crewai.llms.context_window.summarize_messages": "CrewAI is not built",
    "langmem.short_term.summarize_messages": "LangMem is not built",
    "llama_index.core.notes.{ChatMemoryBuffer,ChatSummaryMemoryBuffer,Memory}.get": (
        "LlamaIndex is not built"
    ),
    "openhands.memory.condenser.impl.{LLMSummarizing,NoOp,CondenserPipeline}": (
        "OpenHands' summarising condenser is not built"
    ),
    "openhands.sdk.context.condenser.LLMSummarizingCondenser.condense + View.from_events": (
        "OpenHands' summarising condenser is not built"
    ),
    "semantic_kernel.contents.ChatHistory{Truncation,Summarization}Reducer.reduce": (
        "Semantic Kernel is not built"
    ),
    "strands.agent.conversation_manager.SummarizingConversationManager.reduce_context": (
        "of Strands only the sliding window is built"
    ),
    "sweagent.agent.history_processors.{ClosedWindow,CacheControl,RemoveRegex,"
    "TagToolCallObservations}": "of SWE-agent only the masking of observations is built",
}
