import io.awspring.cloud.sqs.annotation.SqsListener;
import io.awspring.cloud.sqs.config.SqsBootstrapConfiguration;
import io.awspring.cloud.sqs.config.SqsMessageListenerContainerFactory;
import io.awspring.cloud.sqs.listener.SqsHeaders;
import io.awspring.cloud.sqs.listener.errorhandler.ImmediateRetryAsyncErrorHandler;
import io.awspring.cloud.sqs.operations.SqsTemplate;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Scanner;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.messaging.Message;
import org.springframework.messaging.support.MessageBuilder;
import software.amazon.awssdk.services.sqs.SqsAsyncClient;

/** spring-cloud-aws without Spring Boot, as consumer in ../clients.go explains. */
public class Program {
    static final String QUEUE_URL = System.getenv("QUEUE_URL");
    static final boolean FIFO = QUEUE_URL.endsWith(".fifo");
    static final PrintStream OUT = new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);

    public static void main(String[] args) {
        var context = new AnnotationConfigApplicationContext(Consumer.class);
        context.registerShutdownHook(); // at SIGTERM
        send(SqsTemplate.newTemplate(context.getBean(SqsAsyncClient.class)));
    }

    static void send(SqsTemplate template) {
        var lines = new Scanner(System.in, StandardCharsets.UTF_8);
        var messages = new ArrayList<Message<String>>();
        while (lines.hasNextLine()) {
            var body = lines.nextLine();
            if (!body.isEmpty()) {
                messages.add(messageOf(body));
                continue;
            }
            for (int i = 0; i < messages.size(); i += 10) {
                template.sendMany(QUEUE_URL, messages.subList(i, Math.min(i + 10, messages.size())));
            }
            messages.clear();
            OUT.println("sent");
        }
    }

    static Message<String> messageOf(String body) {
        var fields = body.split(" ");
        var message = MessageBuilder.withPayload(body)
            .setHeader("number", Integer.valueOf(fields[0]))
            .setHeader("note", System.getenv("NOTE"));
        if (FIFO) {
            message.setHeader(SqsHeaders.MessageSystemAttributes.SQS_MESSAGE_GROUP_ID_HEADER, fields[1])
                .setHeader(SqsHeaders.MessageSystemAttributes.SQS_MESSAGE_DEDUPLICATION_ID_HEADER, fields[0]);
        }
        return message.build();
    }

    @Configuration
    @Import(SqsBootstrapConfiguration.class)
    static class Consumer {
        @Bean
        SqsAsyncClient client() {
            return SqsAsyncClient.create();
        }

        @Bean
        SqsMessageListenerContainerFactory<Object> defaultSqsListenerContainerFactory(SqsAsyncClient client) {
            return SqsMessageListenerContainerFactory.builder()
                .sqsAsyncClient(client)
                .errorHandler(new ImmediateRetryAsyncErrorHandler<>())
                .configure(options -> {
                    if (FIFO) {
                        // For what follows a failure in its group, and is not handled.
                        options.messageVisibility(Duration.ofSeconds(5));
                    }
                })
                .build();
        }

        @SqsListener("${QUEUE_URL}")
        void handle(Message<String> message) throws InterruptedException {
            var fields = message.getPayload().split(" ");
            var headers = message.getHeaders();
            var receives = headers.get(SqsHeaders.MessageSystemAttributes.SQS_APPROXIMATE_RECEIVE_COUNT, String.class);
            var group = headers.getOrDefault(SqsHeaders.MessageSystemAttributes.SQS_MESSAGE_GROUP_ID_HEADER, "-");
            var rest = String.join("\t", fields[0], receives, group.toString(), headers.get("number").toString(), headers.get("note").toString());
            OUT.println("started\t" + rest);
            Thread.sleep(Long.parseLong(fields[3]));
            if (Integer.parseInt(receives) <= Integer.parseInt(fields[2])) {
                OUT.println("failed\t" + rest);
                throw new IllegalStateException("as planned");
            }
            OUT.println("done\t" + rest);
        }
    }
}
